import { writeFileSync } from 'node:fs';
import { sbom } from '#deploy/supply/sbom';

/*
 * Writes the bill of materials of the shipped packages.
 *
 * Usage: node deploy/supply/write-sbom.ts [FILE]
 */

const [file = 'sbom.cdx.json'] = process.argv.slice(2);
const made = sbom();
writeFileSync(file, `${JSON.stringify(made, undefined, 2)}\n`);
console.log(`${file}: ${made.components.length} packages, CycloneDX ${made.specVersion}`);
