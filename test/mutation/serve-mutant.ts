import { registerHooks } from 'node:module';

/*
 * Goes before everything else in a process under mutation testing, and in those that it starts
 * (`NODE_OPTIONS`): serves one file with one part replaced, and gives property tests one seed, so
 * that a mutant meets the same cases in every run.
 */

/** `MUTANT` of the environment: what is replaced where, or nothing. */
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
