import { type CommandTerminal, CtlError } from '#ctl/command';

/** What is asked before something that loses data, and the one answer that lets it happen. */
type Confirmation = {
  /** What is said first; left out: that it cannot be undone. */
  readonly warning?: string;
  /** The id of the account, say. */
  readonly what: string;
  readonly expected: string;
  /** To delete it, say. */
  readonly purpose: string;
  /** What has not happened after another answer. */
  readonly otherwise: string;
};

/** Asks for it. Rejects with a `CtlError` for another answer, and where there is no terminal. */
export async function confirm(
  { warning = 'This cannot be undone.', what, expected, purpose, otherwise }: Confirmation,
  ask: CommandTerminal['ask'],
): Promise<void> {
  if (ask === undefined) {
    throw new CtlError('there is no terminal to ask at: --yes does it without a question');
  }
  const answer = await ask(`${warning} ${what} again, ${purpose}: `);
  if (answer.trim() !== expected) throw new CtlError(otherwise);
}
