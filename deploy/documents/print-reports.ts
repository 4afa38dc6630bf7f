import { reportLines } from '#deploy/documents/report-lines';

/*
 * Prints publicly reported faults of this service or comparable systems, each with its regression
 * test. Usage: node deploy/documents/print-reports.ts
 */
for (const line of reportLines()) console.log(line);
