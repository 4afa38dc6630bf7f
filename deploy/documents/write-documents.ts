import { readFileSync, writeFileSync } from 'node:fs';
import { withBlock } from '#deploy/documents/generated-block';
import { GENERATED_BLOCKS } from '#deploy/documents/generated-blocks';

/* Writes the generated blocks of all documents (`npm run generate`). */
for (const { document, name, lines } of GENERATED_BLOCKS) {
  writeFileSync(document, withBlock(readFileSync(document, 'utf8'), name, lines()));
}
