// Requests at once what the view in the address needs. Else the browser would find each module only when the one that
// imports it has arrived. `python -m tests.web.modules` writes the lists.

(() => {
  // prettier-ignore
  /** @type {Record<string, string[]>} */
  const MODULES = {
    main: ["core/api.js", "core/dom.js", "core/format.js", "core/jobs.js", "core/logout.js", "core/looks.js", "core/metrics.js", "core/router.js", "core/series.js", "core/stream.js", "core/theme.js", "parts/problem.js"],
    live: ["core/labs.js", "core/plotly.js", "core/press.js", "core/scenarios.js", "parts/chart.js", "parts/choices.js", "parts/disturbances.js", "parts/events.js", "parts/files.js", "parts/injector.js", "parts/progress.js", "parts/steps.js", "parts/tiles.js", "parts/traces.js", "views/live.js", "views/live/charts.js", "views/live/events.js", "views/live/faults.js", "views/live/headline.js", "views/live/job.js", "views/live/matrix.js", "views/live/nothing.js", "views/live/sweep.js", "views/live/workers.js"],
    scenarios: ["core/command.js", "core/packed.js", "core/pause.js", "core/scenarios.js", "parts/copy.js", "parts/files.js", "views/scenarios.js", "views/scenarios/address.js", "views/scenarios/editor.js", "views/scenarios/fields.js", "views/scenarios/form.js", "views/scenarios/list.js", "views/scenarios/plan.js", "views/scenarios/results.js", "views/scenarios/schema.js", "views/scenarios/sweep.js", "views/scenarios/text.js", "views/scenarios/timeline.js", "views/scenarios/upload.js"],
    runs: ["core/pause.js", "core/press.js", "parts/dialog.js", "views/runs.js", "views/runs/columns.js", "views/runs/dialogs.js", "views/runs/edit.js", "views/runs/filters.js", "views/runs/table.js"],
    compare: ["core/plotly.js", "core/press.js", "parts/chart.js", "parts/choices.js", "parts/disturbances.js", "parts/events.js", "parts/files.js", "parts/newest.js", "parts/steps.js", "views/compare.js", "views/compare/charts.js", "views/compare/recoveries.js", "views/compare/rows.js"],
    figures: ["core/plotly.js", "parts/figure.js", "parts/newest.js", "views/figures.js"],
    labs: ["core/labs.js", "core/plotly.js", "core/press.js", "parts/chart.js", "parts/choices.js", "parts/dialog.js", "parts/disturbances.js", "parts/events.js", "parts/files.js", "parts/injector.js", "parts/progress.js", "parts/steps.js", "parts/tiles.js", "parts/traces.js", "views/labs.js", "views/labs/charts.js", "views/labs/contents.js", "views/labs/create.js", "views/labs/designs.js", "views/labs/details.js", "views/labs/figures.js", "views/labs/lab.js", "views/labs/layout.js", "views/labs/log.js", "views/labs/overview.js", "views/labs/topology.js"],
    packet: ["core/command.js", "core/packed.js", "core/pause.js", "parts/copy.js", "views/packet.js", "views/packet/after.js", "views/packet/code.js", "views/packet/details.js", "views/packet/form.js", "views/packet/frame.js", "views/packet/lab.js", "views/packet/link.js", "views/packet/marks.js", "views/packet/own.js", "views/packet/packets.js", "views/packet/pipeline.js", "views/packet/programs.js", "views/packet/replay.js", "views/packet/request.js", "views/packet/result.js", "views/packet/setup.js", "views/packet/steps.js", "views/packet/words.js"],
  };
  /** Views that draw charts as soon as they are shown. */
  const DRAWING = ["compare", "figures"];

  const view = location.hash.replace(/^#\/?/, "").split(/[/?]/)[0];
  const name = view in MODULES && view !== "main" ? view : "live";
  /** @param {string} rel @param {string} href @param {string} [as] */
  const link = (rel, href, as = "") => {
    const made = document.createElement("link");
    made.rel = rel;
    made.href = href;
    if (as) made.as = as;
    if (as === "fetch") made.crossOrigin = "anonymous";
    document.head.append(made);
  };
  if (DRAWING.includes(name)) {
    // It runs for a fifth of a second, while the modules are under way.
    const script = document.createElement("script");
    script.src = "vendor/plotly-cartesian.min.js";
    script.fetchPriority = "high";
    // core/plotly.js then makes another one.
    script.onerror = () => script.remove();
    document.head.append(script);
  }
  for (const each of [...MODULES.main, ...MODULES[name]]) link("modulepreload", `js/${each}`);
  for (const each of ["looks", "metrics"]) link("preload", `api/v1/${each}`, "fetch");
})();
