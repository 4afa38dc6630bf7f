import { writeFileSync } from 'node:fs';
import { tableLines } from '#deploy/documents/markdown-table';
import { MODELS, type Model } from '#identity/model';
import { type Flicker, flickerOf } from '#test/simulation/model/flicker';
import { contractPicture } from '#test/simulation/model/picture';
import { CASES } from '#test/simulation/model/work';

/*
 * Simulates agents at work under every model version, prints how often their contracts change, and
 * draws one agent's contracts. Usage: node test/simulation/model/main.ts
 */

const PICTURE = 'docs/pictures/contract-flicker.svg';

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

const cells = ({
  allowed,
  forbidden,
  returned,
  order,
  levels,
  leading,
  style,
}: Flicker): string[] => [allowed, forbidden, returned, order, levels, leading, style].map(percent);

const models = MODELS.versions.map((version) => MODELS.find(version) as Model);
const rows = CASES.flatMap((pace) =>
  models.map((model) => [pace.name, model.version, ...cells(flickerOf(model, pace))]),
);
const head = [
  'Case',
  'Model',
  'allowed',
  'forbidden',
  'returned',
  'order',
  'levels',
  'leading',
  'style',
];
console.log('Share of observations after which the contract is different:\n');
console.log(tableLines(head, rows).join('\n'));
writeFileSync(PICTURE, contractPicture(models));
console.log(`\nPicture of one agent: ${PICTURE}`);
