// Redraws wait while the mouse or a finger is down: an element that is replaced meanwhile gets no click.

/** Time in which the click follows when a finger leaves the screen. The click of a mouse comes at once. */
const CLICK_OF_TOUCH_MS = 300;

/** @type {Set<() => unknown>} */
const waiting = new Set();
let isPressed = false;
let release = 0;

/**
 * Calls `draw` when nothing is pressed: now, or after the click, which may have changed what is shown. A function that
 * waits already is called once.
 *
 * @param {() => unknown} draw
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

document.addEventListener(
  "pointerdown",
  ({ button }) => {
    // The end of an earlier press does not end this one.
    clearTimeout(release);
    isPressed = button === 0;
  },
  true,
);
for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
  document.addEventListener(
    name,
    ({ pointerType }) => (release = window.setTimeout(released, pointerType === "mouse" ? 0 : CLICK_OF_TOUCH_MS)),
    true,
  );
}
window.addEventListener("blur", released);
