import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { readCluster } from '#deploy/local/cluster-record';
import { clusterFolder, wantedCluster } from '#deploy/local/state-folder';
import { DASHBOARDS } from '#deploy/observe/dashboards/all';
import type { Dashboard, Panel } from '#deploy/observe/dashboards/dashboard';
import { observePlan } from '#deploy/observe/observe-plan';
import { type NamedCurve, PANEL, panelPicture } from '#deploy/observe/panel-picture';
import { legendOf, rangeQuery, type TimeRange } from '#deploy/observe/range-query';

/*
 * Draws every dashboard with data from Prometheus as docs/pictures/dashboard-*.svg, for readers
 * without Grafana.
 *
 * Usage: node deploy/observe/draw.ts [--minutes 30] (while make observe runs)
 */

/** Number of values per curve: about a value for every other pixel. */
const STEPS = 200;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const cluster = clusterPlan(readCluster(clusterFolder())?.size ?? wantedCluster());
const { address } = observePlan(cluster).prometheus;
const stretchS = Number(values.minutes) * 60;
const toS = Math.floor(Date.now() / 1_000);
const range: TimeRange = {
  fromS: toS - stretchS,
  toS,
  stepS: Math.max(5, Math.round(stretchS / STEPS)),
};
for (const dashboard of DASHBOARDS) {
  const file = `docs/pictures/dashboard-${dashboard.id}.svg`;
  writeFileSync(file, await pictureOf(dashboard));
  console.log(file);
}

async function pictureOf({ title, panels }: Dashboard): Promise<string> {
  const drawn = await Promise.all(
    panels.map(async (panel) => ({ panel, curves: await curvesOf(panel) })),
  );
  const parts = drawn.flatMap(({ panel, curves }, place) => {
    const [left, top] = [(place % 2) * PANEL.width, 34 + Math.floor(place / 2) * PANEL.height];
    const body = panelPicture(panel, curves, range);
    return [`<g transform="translate(${left} ${top})">`, ...body, '</g>'];
  });
  const [width, height] = [2 * PANEL.width, 34 + Math.ceil(panels.length / 2) * PANEL.height];
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#f4f5f5"/>`,
    `<text x="14" y="24" font-size="16" fill="#222">${title}</text>`,
    ...parts,
    '</svg>',
  ].join('\n')}\n`;
}

async function curvesOf({ queries }: Panel): Promise<NamedCurve[]> {
  const found = queries.map(async ({ expr, legend }) => {
    const curves = await rangeQuery(address, expr, range);
    return curves.map((curve) => ({ name: legendOf(legend, curve), points: curve.points }));
  });
  return (await Promise.all(found)).flat().filter(({ points }) => points.length > 0);
}
