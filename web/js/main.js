// The dashboard: views below one navigation, one event stream, and the state of the view in the address.

import { byId, fill, make } from "./core/dom.js";
import { duration } from "./core/format.js";
import * as jobs from "./core/jobs.js";
import * as logout from "./core/logout.js";
import * as looks from "./core/looks.js";
import * as metrics from "./core/metrics.js";
import * as router from "./core/router.js";
import * as series from "./core/series.js";
import * as stream from "./core/stream.js";
import * as theme from "./core/theme.js";
import { problem } from "./parts/problem.js";

/**
 * A view that is shown: `show` is called with the route at the beginning and at each change, `close` at the end.
 *
 * @typedef {{ show: (route: router.Route) => void, close: () => void }} Shown
 */

/**
 * Title, module, and page of the documentation of each view.
 *
 * @type {Record<string, { title: string, load: () => Promise<{ mount: (place: HTMLElement) => Shown }>, docs: string }>}
 */
const VIEWS = {
  live: { title: "Live", load: () => import("./views/live.js"), docs: "use/dashboard" },
  scenarios: { title: "Scenarios", load: () => import("./views/scenarios.js"), docs: "use/scenarios" },
  runs: { title: "Runs", load: () => import("./views/runs.js"), docs: "use/run-store" },
  compare: { title: "Compare", load: () => import("./views/compare.js"), docs: "learn/reading-a-result" },
  figures: { title: "Figures", load: () => import("./views/figures.js"), docs: "reference/scoreboard" },
  labs: { title: "Labs", load: () => import("./views/labs.js"), docs: "use/api-labs" },
  packet: { title: "Packet", load: () => import("./views/packet.js"), docs: "use/p4" },
};

/** @type {{ name: string, shown: Shown } | null} */
let open = null;
let turn = 0;

/** @param {router.Route} route */
async function show(route) {
  const name = route.view in VIEWS ? route.view : router.FIRST;
  navigation(name);
  if (open?.name === name) return open.shown.show(route);
  const mine = ++turn;
  open?.shown.close();
  open = null;
  const place = byId("main");
  try {
    const [{ mount }] = await Promise.all([VIEWS[name].load(), looks.load(), metrics.load()]);
    if (mine !== turn) return;
    styles(name);
    fill(place);
    place.dataset.view = name;
    document.title = `${VIEWS[name].title} · netkv`;
    open = { name, shown: mount(place) };
    open.shown.show(router.current());
  } catch (error) {
    if (mine === turn) fill(place, problem(error));
    // The server may have been away.
    if (mine === turn) waitFor();
    console.warn(error);
  }
}

/** Shows the view of the address when the server answers again. */
function waitFor() {
  // The first call is made at once, with the present state.
  let waiting = false;
  const off = stream.on("connection", (there) => {
    if (!waiting || !there) return;
    off();
    show(router.current());
  });
  waiting = true;
}

/** Applies the styles of a view only: views name their parts as they like. @param {string} name */
function styles(name) {
  for (const link of /** @type {NodeListOf<HTMLLinkElement>} */ (document.querySelectorAll("link[data-views]"))) {
    link.media = link.dataset.views?.split(" ").includes(name) ? "all" : "not all";
  }
}

/** @param {string} active */
function navigation(active) {
  const links = Object.entries(VIEWS).map(([name, { title }]) =>
    make("a", { id: `to-${name}`, href: router.link([name]), "aria-current": name === active ? "page" : null }, title),
  );
  fill(byId("views"), ...links);
  /** @type {HTMLAnchorElement} */ (byId("to-docs")).href = `docs-site/${VIEWS[active].docs}.html`;
}

/** The link to the job that runs. It stays the same element, so that an update in the middle of a click does not lose it. */
const runningLink = make("a");

/** What runs, in the head of every view. */
function activity() {
  const place = byId("activity");
  const job = jobs.running();
  const waiting = jobs.current()?.active.filter((each) => each.state === "queued").length ?? 0;
  const more = waiting ? ` (${waiting} queued)` : "";
  if (!job) {
    place.dataset.state = "idle";
    fill(place, waiting ? `${waiting} queued` : "Nothing is running.");
    return;
  }
  const { fraction, left_seconds: left } = job.progress ?? { fraction: null, left_seconds: null };
  const parts = [
    fraction == null ? "" : `${Math.floor(100 * fraction)}%`,
    left == null ? "" : `${duration(left)} left`,
  ].filter(Boolean);
  place.dataset.state = job.state;
  const word = { starting: "Starting", stopping: "Stopping" }[/** @type {string} */ (job.state)] ?? "Running";
  runningLink.href = router.link(["live", job.id]);
  runningLink.textContent = `${word} ${job.title}${parts.length ? `: ${parts.join(", ")}` : ""}${more}`;
  if (runningLink.parentNode !== place) fill(place, runningLink);
}

theme.start();
series.start();
jobs.start();
jobs.watch(activity);
stream.on("connection", (there) => {
  if (there) return activity();
  byId("activity").dataset.state = "lost";
  fill(byId("activity"), "The server does not answer; trying again …");
});
stream.start();
router.start(show);
logout.start();
