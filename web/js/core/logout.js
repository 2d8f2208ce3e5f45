// The button that ends the session of a browser at a server with a token.

import { get } from "./api.js";
import { byId } from "./dom.js";

/** Shows the button if this browser has logged in: a server that needs the token has let it in. */
export async function start() {
  const button = byId("log-out");
  button.addEventListener("click", leave);
  // Without an answer there is nothing to log out of yet; the page says that the server is away.
  const health = await get("/health").catch(() => null);
  button.hidden = !health?.token;
}

async function leave() {
  // Not a form: browsers would send it with 'Origin: null' under the policy of the page.
  await fetch("logout", { method: "POST" }).catch(() => null);
  // The form that asks for the token, or the page again if the server was away.
  location.assign(location.pathname);
}
