import { DASHBOARDS } from '#deploy/observe/dashboards/all';

/** Maximum length of a line of prose. */
const COLUMNS_MAX = 120;

/** A chapter for every dashboard with its purpose, picture and panels. */
export function dashboardLines(): string[] {
  return DASHBOARDS.flatMap(({ id, title, about, panels }, place) => [
    ...(place === 0 ? [] : ['']),
    `## ${title}`,
    '',
    about,
    '',
    `![the dashboard ${title}](pictures/dashboard-${id}.svg)`,
    '',
    ...wrapped(`Panels: ${panels.map((panel) => panel.title).join('; ')}.`),
  ]);
}

/** A text in lines of at most `COLUMNS_MAX`. */
function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length > COLUMNS_MAX) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
