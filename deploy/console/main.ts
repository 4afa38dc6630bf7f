import { buildPages } from '#deploy/console/build-pages';

/*
 * Builds the console's pages.
 *
 * Usage: node deploy/console/main.ts [FOLDER]
 */

const [folder = 'build/console'] = process.argv.slice(2);
await buildPages(folder);
