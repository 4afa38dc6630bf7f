import { tableLines } from '#deploy/documents/markdown-table';
import { DASHBOARDS } from '#deploy/observe/dashboards/all';

/** A chapter for every dashboard: what it is for, its picture, what each panel says. */
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
      ['Panel', 'Says'],
      panels.map((panel) => [panel.title, panel.about]),
    ),
  ]);
}
