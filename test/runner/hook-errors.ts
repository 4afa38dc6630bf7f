import { registerHooks } from 'node:module';

/*
 * Makes a suite report errors of its hooks. Without this change, uvu drops these errors, because
 * the `finally` block of its runner returns. Separate, so that `--import` can load this file
 * before a test file.
 */

const HOOKS_END = '\t} finally {\n\t\tstate.__test__';
const REPORT = '\t} catch (error) {\n\t\terrors += format("a hook", error, name);\n';

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/uvu/dist/index.mjs')) return loaded;
    const parts = String(loaded.source).split(HOOKS_END);
    if (parts.length !== 2) throw new Error(`${url} has changed: adapt HOOKS_END`);
    return { ...loaded, source: parts.join(REPORT + HOOKS_END) };
  },
});
