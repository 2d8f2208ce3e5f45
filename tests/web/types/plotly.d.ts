/** The part of plotly.js that the dashboard uses. */
interface PlotlyApi {
  react(place: HTMLElement, traces: object[], layout: object, config: object): Promise<void>;
  purge(place: HTMLElement): void;
  toImage(
    place: HTMLElement | { data: object[]; layout: object },
    options: { format: "png" | "svg"; width: number; height: number; scale?: number },
  ): Promise<string>;
  Plots: { resize(place: HTMLElement): void };
}

interface Window {
  Plotly: PlotlyApi;
}
