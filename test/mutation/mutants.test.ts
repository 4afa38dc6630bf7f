import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgements } from '#test/mutation/equivalents';
import { edited, nameOf } from '#test/mutation/mutant';
import { mutantsOf } from '#test/mutation/mutants-of';

const changesOf = (source: string): string[] =>
  mutantsOf('some.ts', source).map((mutant) => edited(source, mutant));

const mutants = suite('mutants');

for (const [source, changes] of [
  ['x = a < b;', [';', 'x = a <= b;', 'x = a >= b;']],
  ['x += a * b;', ['x -= a * b;', 'x += a / b;']],
  ['x = (a + 1) ?? c;', [';', 'x = ((a + 1) && c);', 'x = (a - 1) ?? c;', 'x = (a) ?? c;']],
] as const) {
  mutants(`replace each operator in ${source}`, () => {
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
  mutants(`replace conditions and remove effects in ${source}`, () => {
    assert.equal(changesOf(source), changes);
  });
}

mutants('leave texts for people and types unchanged', () => {
  const types = "type A = 'a' | 'b'; interface B { c: 1 } import { d } from 'e';";
  assert.equal(changesOf(`${types} let f: A = g as A;`), []);
  assert.equal(changesOf("assert(a < b, 'why'); this.#log.warn({ a: 1 }, 'text');"), []);
  assert.equal(changesOf("throw new Error('broken' + 1);"), []);
  assert.equal(changesOf("const text = 'for people';"), []);
});

mutants(
  'of an optional chain start at the object, because an undefined object skips the rest',
  () => {
    for (const [source, becomes] of [
      ['f(a?.b);', 'f(a.b);'],
      ['f(a?.[b]);', 'f(a[b]);'],
      ['f(a?.(b));', 'f(a(b));'],
    ] as const) {
      const chain = mutantsOf('some.ts', source).find(({ operator }) => operator === 'chain');
      assert.ok(chain !== undefined);
      assert.equal([chain.start, edited(source, chain)], [2, becomes]);
    }
  },
);

mutants('exclude edits that do not change the source', () => {
  assert.equal(changesOf('const nothing = () => undefined;'), []);
});

mutants('name their function and the line before and after the change', () => {
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

judged('is a mutant of the current code and has a reason', () => {
  for (const { reason, mutants: wanted } of judgements()) {
    assert.ok(reason.length > 20, `the reason "${reason}" is too short`);
    for (const mutant of wanted) {
      const found = mutantsOf(mutant.file).some(
        (other) => nameOf(other) === nameOf({ ...other, ...mutant }),
      );
      assert.ok(found, `${mutant.file} has no mutant ${mutant.was} -> ${mutant.becomes}`);
    }
  }
});

judged.run();
