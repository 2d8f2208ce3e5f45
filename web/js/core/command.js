// Commands for a shell.

/** A word of a command. @param {string} text */
export function quoted(text) {
  return /^[\w.=:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
