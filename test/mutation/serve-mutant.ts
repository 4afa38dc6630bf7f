import { registerHooks } from 'node:module';

/*
 * Separate because `NODE_OPTIONS` preloads it into each test process and its children. Loads one
 * source file with the mutant's replacement. Fixes the seed of property tests, so that every run
 * tests the same cases.
 */

/** Replacement in the environment variable `MUTANT`, if any. */
type Served = { url: string; start: number; end: number; replacement: string };

const SEED = 16;
const PROPERTY_TESTS = /\/fast-check\/lib\/fast-check\.js$/;

const served = JSON.parse(process.env['MUTANT'] ?? '{}') as Partial<Served>;

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (url === served.url) {
      const { start = 0, end = 0, replacement = '' } = served;
      const source = String(loaded.source);
      return { ...loaded, source: source.slice(0, start) + replacement + source.slice(end) };
    }
    if (!PROPERTY_TESTS.test(url)) return loaded;
    return { ...loaded, source: `${loaded.source}\nconfigureGlobal({ seed: ${SEED} });\n` };
  },
});
