import { registerHooks } from 'node:module';

/*
 * Lets `src` import the TypeScript client from its source. Separate from the tests, because the
 * programs under test load this file with `--import`.
 */
const CLIENT = new URL('../../../typescript/src/identity-engine.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'identity-engine' ? CLIENT : specifier, context),
});
