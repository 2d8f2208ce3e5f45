// Texts in the address of the page: compressed, and only if they are short enough for a link.

/** Longest text in an address, compressed; longer ones are cut by mail programs and chats. */
const MAX_LINK = 8000;

/** The text for an address; null if it is too long. @param {string} text @returns {Promise<string | null>} */
export async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length > MAX_LINK) return null;
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const short = letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return short.length > MAX_LINK ? null : short;
}

/**
 * The text of an address; throws an error if it is damaged or too long.
 *
 * @param {string} short
 * @param {number} limit in characters
 */
export async function unpacked(short, limit) {
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
    if (text.length > limit) throw new Error("The text is too long.");
  }
}
