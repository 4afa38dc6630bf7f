/** Saves this process's environment variables and restores them when disposed. */
export function keptEnvironment(): Disposable {
  const before = { ...process.env };
  return {
    [Symbol.dispose]() {
      for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
      Object.assign(process.env, before);
    },
  };
}
