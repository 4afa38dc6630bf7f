import { writeFileSync } from 'node:fs';
import { observeFiles } from '#deploy/observe/observe-files';

/* Writes Prometheus rules, their tests, and Grafana dashboards (`npm run generate`). */
for (const [file, text] of observeFiles()) writeFileSync(file, text);
