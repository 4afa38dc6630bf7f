/** A value that can become another while the process runs: what begins now takes what it is now. */
export interface Reloadable<Value> {
  readonly current: Value;
  /** Runs `task` with the new value after every change, until disposed. `task` must not throw. */
  onChange(task: (value: Value) => void): Disposable;
}

/** A value that stays as it is. */
export function unchanging<Value>(value: Value): Reloadable<Value> {
  return { current: value, onChange: () => ({ [Symbol.dispose]: () => undefined }) };
}

/** What `derive` makes of a value: made when it is first asked for, and again after each change. */
export function derivedFrom<Source, Value>(
  source: Reloadable<Source>,
  derive: (value: Source) => Value,
): Reloadable<Value> {
  let made: { readonly of: Source; readonly value: Value } | undefined;
  const madeOf = (current: Source): Value => {
    if (made === undefined || made.of !== current) made = { of: current, value: derive(current) };
    return made.value;
  };
  return {
    get current() {
      return madeOf(source.current);
    },
    onChange: (task) => source.onChange((value) => task(madeOf(value))),
  };
}
