// Waits for a pause in what the user does.

/**
 * `soon` calls `act` when it has not been called for so long; `now` calls it at once, `cancel` not at all.
 *
 * @param {number} milliseconds
 * @param {() => void} act
 */
export function afterPause(milliseconds, act) {
  let timer = 0;
  const cancel = () => clearTimeout(timer);
  const now = () => {
    cancel();
    act();
  };
  const soon = () => {
    cancel();
    timer = window.setTimeout(act, milliseconds);
  };
  return { soon, now, cancel };
}
