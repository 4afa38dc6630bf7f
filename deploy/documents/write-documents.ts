import { readFileSync, writeFileSync } from 'node:fs';
import { withBlock } from '#deploy/documents/generated-block';
import { GENERATED_BLOCKS } from '#deploy/documents/generated-blocks';

/* Writes the generated parts of documents (`npm run generate`). Other text is not changed. */
for (const { document, name, lines } of GENERATED_BLOCKS) {
  writeFileSync(document, withBlock(readFileSync(document, 'utf8'), name, lines()));
}
