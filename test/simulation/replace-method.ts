import assert from 'node:assert/strict';

/** The names of an owner's methods. */
type MethodOf<Owner> = {
  [Name in keyof Owner]: Owner[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Owner];

/** Puts another method in the place of one, until the stack is disposed. */
export function replaceMethod<Owner extends object, Name extends MethodOf<Owner>>(
  stack: DisposableStack,
  owner: Owner,
  name: Name,
  make: (original: Owner[Name]) => Owner[Name],
): void {
  const original = owner[name];
  assert(typeof original === 'function', `there is no method ${String(name)} to replace`);
  owner[name] = make(original);
  stack.defer(() => {
    owner[name] = original;
  });
}

/** Puts another getter in the place of one, until the stack is disposed. */
export function replaceGetter<Owner extends object, Name extends keyof Owner & string>(
  stack: DisposableStack,
  owner: Owner,
  name: Name,
  make: (original: () => Owner[Name]) => () => Owner[Name],
): void {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  const get = descriptor?.get;
  assert(descriptor !== undefined && get !== undefined, `there is no getter ${name} to replace`);
  Object.defineProperty(owner, name, { ...descriptor, get: make(get) });
  stack.defer(() => Object.defineProperty(owner, name, descriptor));
}
