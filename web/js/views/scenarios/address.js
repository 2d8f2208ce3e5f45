// A scenario's text in the address of the page: compressed, and only if it is short enough for a link.

/** Largest text that the server accepts, in characters. */
export const MAX_TEXT = 200_000;
/** Longest text in an address, compressed; longer ones are cut by mail programs and chats. */
const MAX_LINK = 6000;

/** A text that is too long for the address, until the editor takes it. @type {string | null} */
let waiting = null;

/** Keeps a text for the editor that opens next. @param {string} text */
export function stash(text) {
  waiting = text;
}

/** The kept text, once; null if there is none. */
export function taken() {
  const text = waiting;
  waiting = null;
  return text;
}

/**
 * The text for an address; null if it is too long.
 *
 * @param {string} text
 * @returns {Promise<string | null>}
 */
export async function packed(text) {
  const bytes = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer());
  if (bytes.length > MAX_LINK) return null;
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const short = letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return short.length > MAX_LINK ? null : short;
}

/**
 * The text of an address; throws an error with a sentence if it is damaged.
 *
 * @param {string} short
 * @returns {Promise<string>}
 */
export async function unpacked(short) {
  try {
    const letters = atob(short.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const decoder = new TextDecoder();
    let text = "";
    // A few bytes may stand for a very long text.
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
      if (text.length > MAX_TEXT) throw new Error("too long");
    }
  } catch {
    throw new Error("The scenario in this address is damaged: the link was probably cut. Ask for the file.");
  }
}
