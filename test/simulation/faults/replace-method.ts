import assert from 'node:assert/strict';

/** Names of a class's methods. */
type MethodOf<Owner> = {
  [Name in keyof Owner]: Owner[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Owner];

/** Replacement of a method: receives the original method, the object and the arguments. */
type Substitute<Owner, Method> = Method extends (...args: infer Args) => infer Result
  ? (original: (...args: Args) => Result, self: Owner, ...args: Args) => Result
  : never;

/** Replaces a method of a class until the stack is disposed. */
export function replaceMethod<Owner extends object, Name extends MethodOf<Owner>>(
  stack: DisposableStack,
  { prototype }: { readonly prototype: Owner },
  name: Name,
  substitute: Substitute<Owner, Owner[Name]>,
): void {
  const original = prototype[name];
  assert(typeof original === 'function', `the class has no method ${String(name)} to replace`);
  const replacement = function (this: Owner, ...args: never[]): unknown {
    return substitute(original.bind(this), this, ...args);
  };
  prototype[name] = replacement as Owner[Name];
  stack.defer(() => {
    prototype[name] = original;
  });
}

/**
 * Replaces a getter of a class until the stack is disposed. `get` receives the original getter and
 * the object.
 */
export function replaceGetter<Owner extends object, Name extends keyof Owner & string>(
  stack: DisposableStack,
  { prototype }: { readonly prototype: Owner },
  name: Name,
  get: (original: () => Owner[Name], self: Owner) => Owner[Name],
): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  assert(descriptor?.get !== undefined, `the class has no getter ${name} to replace`);
  const original = descriptor.get;
  const replacement = function (this: Owner): Owner[Name] {
    return get(original.bind(this), this);
  };
  Object.defineProperty(prototype, name, { ...descriptor, get: replacement });
  stack.defer(() => Object.defineProperty(prototype, name, descriptor));
}
