import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgements } from '#test/mutation/equivalents';
import { edited, nameOf } from '#test/mutation/mutant';
import { mutantsOf } from '#test/mutation/mutants-of';

const changesOf = (source: string): string[] =>
  mutantsOf('some.ts', source).map((mutant) => edited(source, mutant));

const mutants = suite('the mutants of a source');

for (const [source, changes] of [
  ['x = a < b;', [';', 'x = a <= b;', 'x = a >= b;']],
  ['x += a * b;', ['x -= a * b;', 'x += a / b;']],
  ['x = (a + 1) ?? c;', [';', 'x = ((a + 1) && c);', 'x = (a - 1) ?? c;', 'x = (a) ?? c;']],
] as const) {
  mutants(`swap each operator of ${source} for its counterparts`, () => {
    assert.equal(changesOf(source), changes);
  });
}

for (const [source, changes] of [
  ['if (ask()) act();', ['if (true) act();', 'if (false) act();', 'if (ask()) ;']],
  ['while (ask());', ['while (false);']],
  [
    'function f() { return !x; }',
    ['{}', '{ return true; }', '{ return false; }', '{ return x; }'].map(
      (body) => `function f() ${body}`,
    ),
  ],
] as const) {
  mutants(`make ${source} true and false, and remove effects`, () => {
    assert.equal(changesOf(source), changes);
  });
}

mutants('leave out code for people or for the type checker', () => {
  const types = "type A = 'a' | 'b'; interface B { c: 1 } import { d } from 'e';";
  assert.equal(changesOf(`${types} let f: A = g as A;`), []);
  assert.equal(changesOf("assert(a < b, 'why'); this.#log.warn({ a: 1 }, 'text');"), []);
  assert.equal(changesOf("throw new Error('broken' + 1);"), []);
  assert.equal(changesOf("const text = 'for people';"), []);
});

mutants('begin at the object of a chain, which is also reached if undefined', () => {
  for (const [source, becomes] of [
    ['f(a?.b);', 'f(a.b);'],
    ['f(a?.[b]);', 'f(a[b]);'],
    ['f(a?.(b));', 'f(a(b));'],
  ] as const) {
    const chain = mutantsOf('some.ts', source).find(({ operator }) => operator === 'chain');
    assert.ok(chain !== undefined);
    assert.equal([chain.start, edited(source, chain)], [2, becomes]);
  }
});

mutants('exclude replacements equal to the source', () => {
  assert.equal(changesOf('const nothing = () => undefined;'), []);
});

mutants('have their function, and the line before and after', () => {
  const [mutant] = mutantsOf(
    'some.ts',
    'class A {\n  static #b(c: number) {\n    d(-c);\n  }\n}',
  ).slice(-1);
  assert.is(mutant?.within, 'A.#b');
  assert.is(mutant?.line, 3);
  assert.equal([mutant?.was, mutant?.becomes], ['d(-c);', 'd(c);']);
});

mutants.run();

const judged = suite('an equivalent mutant');

judged('is a mutant of the current code, with a reason', () => {
  for (const { reason, mutants: wanted } of judgements()) {
    assert.ok(reason.length > 20, `"${reason}" is no reason`);
    for (const mutant of wanted) {
      const found = mutantsOf(mutant.file).some(
        (other) => nameOf(other) === nameOf({ ...other, ...mutant }),
      );
      assert.ok(found, `${mutant.file} has no longer: ${mutant.was} -> ${mutant.becomes}`);
    }
  }
});

judged.run();
