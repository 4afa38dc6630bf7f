import type { z } from 'zod';
import type { AccountCommand } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-values';

/** A command that makes one call about an account and shows what is answered. */
export function oneCall<Schema extends z.ZodType>(
  schema: Schema,
  textOf: (answer: z.infer<Schema>) => string,
  command: Pick<AccountCommand, 'words' | 'summary' | 'description'> & {
    readonly request: {
      readonly method: 'GET' | 'POST' | 'PUT';
      readonly part: string;
      readonly body?: object;
    };
  },
): AccountCommand {
  const { words, summary, description, request } = command;
  return {
    kind: 'account',
    words,
    summary,
    description,
    args: [ACCOUNT],
    options: {},
    async run(admin, [account = '']) {
      const path = pathOf(account, request.part);
      const data = await admin.ask(schema, request.method, path, request.body);
      return { data, text: textOf(data) };
    },
  };
}

/** A path of the admin port, about a part of an account. */
export function pathOf(account: string, part: string): string {
  return `/accounts/${encodeURIComponent(account)}/${part}`;
}
