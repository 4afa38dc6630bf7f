import { globSync, readFileSync } from 'node:fs';
import { type Mutant, nameOf } from '#test/mutation/mutant';

/** Equivalent mutants, judged by reading, with reasons. */
export type Judgement = {
  readonly reason: string;
  readonly mutants: readonly Pick<Mutant, 'file' | 'within' | 'was' | 'becomes'>[];
};

/** All judgements; one file per mutated folder. */
export function judgements(): Judgement[] {
  return globSync('test/mutation/equivalent/*.json')
    .sort()
    .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as Judgement[]);
}

/** Reason why a mutant is equivalent, by its name. */
export function reasonsByName(): Map<string, string> {
  return new Map(
    judgements().flatMap(({ reason, mutants }) =>
      mutants.map((mutant) => [nameOf(mutant as Mutant), reason]),
    ),
  );
}
