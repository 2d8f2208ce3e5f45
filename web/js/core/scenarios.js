// Requests about scenarios, for all views that offer them.

import { send } from "./api.js";
import * as router from "./router.js";

/** Scenarios for a first look. */
export const FIRST = ["quickstart", "switch-crash"];

/**
 * Runs a scenario and shows the run.
 *
 * @param {Record<string, unknown>} request a `ScenarioRequest` of the API
 */
export async function run(request) {
  const job = await send("POST", "/jobs", request);
  router.navigate(["live", job.id]);
}
