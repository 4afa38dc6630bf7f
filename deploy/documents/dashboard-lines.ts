import { tableLines } from '#deploy/documents/markdown-table';
import { DASHBOARDS } from '#deploy/observe/dashboards/all';

/** A chapter for every dashboard with its purpose, picture, and meaning of each panel. */
export function dashboardLines(): string[] {
  return DASHBOARDS.flatMap(({ id, title, about, panels }, place) => [
    ...(place === 0 ? [] : ['']),
    `## ${title}`,
    '',
    about,
    '',
    `![the dashboard ${title}](pictures/dashboard-${id}.svg)`,
    '',
    ...tableLines(
      ['Panel', 'Shows'],
      panels.map((panel) => [panel.title, panel.about]),
    ),
  ]);
}
