import { reportLines } from '#deploy/documents/report-lines';

/*
 * Prints a table of publicly reported faults, of this service or of comparable systems, each with
 * the test that fails without the fix: `node deploy/documents/print-reports.ts`.
 */
for (const line of reportLines()) console.log(line);
