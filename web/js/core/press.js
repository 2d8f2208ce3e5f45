// Redraws wait while the mouse or a finger is down: an element that is replaced meanwhile gets no click.

/** Time in which the click follows when a finger leaves the screen. The click of a mouse comes at once. */
const CLICK_OF_TOUCH_MS = 300;

/** @type {Set<() => void>} */
const waiting = new Set();
let isPressed = false;

/**
 * Calls `draw` when nothing is pressed: now, or after the click. A function that waits already is called once.
 *
 * @param {() => void} draw
 */
export function afterPress(draw) {
  if (isPressed) waiting.add(draw);
  else draw();
}

function released() {
  isPressed = false;
  const due = [...waiting];
  waiting.clear();
  for (const draw of due) draw();
}

document.addEventListener("pointerdown", ({ button }) => (isPressed = button === 0), true);
for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
  document.addEventListener(name, ({ pointerType }) => setTimeout(released, pointerType === "mouse" ? 0 : CLICK_OF_TOUCH_MS), true);
}
window.addEventListener("blur", released);
