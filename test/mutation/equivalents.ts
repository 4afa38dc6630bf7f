import { globSync, readFileSync } from 'node:fs';
import { type Mutant, nameOf } from '#test/mutation/mutant';

/** Mutants that do what the code does, judged by reading, and why. */
export type Judgement = {
  readonly reason: string;
  readonly mutants: readonly Pick<Mutant, 'file' | 'within' | 'was' | 'becomes'>[];
};

/** All judgements, one file for each folder that is mutated. */
export function judgements(): Judgement[] {
  return globSync('test/mutation/equivalent/*.json')
    .sort()
    .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as Judgement[]);
}

/** The reason why a mutant is no change, by its name. */
export function reasonsByName(): Map<string, string> {
  return new Map(
    judgements().flatMap(({ reason, mutants }) =>
      mutants.map((mutant) => [nameOf(mutant as Mutant), reason]),
    ),
  );
}
