import { writeFileSync } from 'node:fs';
import { observeFiles } from '#deploy/observe/observe-files';

/* Writes the rules of Prometheus, their tests and Grafana's dashboards (`npm run generate`). */
for (const [file, text] of observeFiles()) writeFileSync(file, text);
