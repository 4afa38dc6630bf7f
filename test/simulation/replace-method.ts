import assert from 'node:assert/strict';

/** The names of an owner's methods. */
type MethodOf<Owner> = {
  [Name in keyof Owner]: Owner[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Owner];

/** What comes in the place of a method: it is given the method, the object and the arguments. */
type Substitute<Owner, Method> = Method extends (...args: infer Args) => infer Result
  ? (original: (...args: Args) => Result, self: Owner, ...args: Args) => Result
  : never;

/** Puts another method in the place of one of a class, until the stack is disposed. */
export function replaceMethod<Owner extends object, Name extends MethodOf<Owner>>(
  stack: DisposableStack,
  { prototype }: { readonly prototype: Owner },
  name: Name,
  substitute: Substitute<Owner, Owner[Name]>,
): void {
  const original = prototype[name];
  assert(typeof original === 'function', `there is no method ${String(name)} to replace`);
  const replacement = function (this: Owner, ...args: never[]): unknown {
    return substitute(original.bind(this), this, ...args);
  };
  prototype[name] = replacement as Owner[Name];
  stack.defer(() => {
    prototype[name] = original;
  });
}

/** Puts another getter in the place of one of a class, until the stack is disposed. */
export function replaceGetter<Owner extends object, Name extends keyof Owner & string>(
  stack: DisposableStack,
  { prototype }: { readonly prototype: Owner },
  name: Name,
  get: () => Owner[Name],
): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  assert(descriptor?.get !== undefined, `there is no getter ${name} to replace`);
  Object.defineProperty(prototype, name, { ...descriptor, get });
  stack.defer(() => Object.defineProperty(prototype, name, descriptor));
}
