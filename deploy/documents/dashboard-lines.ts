import { wrapped } from '#deploy/documents/wrapped-text';
import { DASHBOARDS } from '#deploy/observe/dashboards/all';

/** A section per dashboard, with purpose, picture and panels. */
export function dashboardLines(): string[] {
  return DASHBOARDS.flatMap(({ id, title, about, panels }, place) => [
    ...(place === 0 ? [] : ['']),
    `## ${title}`,
    '',
    about,
    '',
    `![the dashboard ${title}](pictures/dashboard-${id}.svg)`,
    '',
    wrapped(`Panels: ${panels.map((panel) => panel.title).join('; ')}.`),
  ]);
}
