import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UsageError } from '#ctl/command';
import { escapedJson, escapedLine, escapedText, table } from '#ctl/printed-text';
import { type Cluster, ctlOn } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';

/** Control and direction characters, a line separator, a byte order mark, half a surrogate pair. */
const STEERING = '\u0000\u0007\u001b\u007f\u0085\u009b\u061c\u200e\u202e\u2066\u2028\ufeff\ud800';

const text = suite('foreign text on a terminal');

// Report 13: control and direction characters in names reached the terminal.
text('is escaped in cells, which stay on one line and aligned', () => {
  for (const character of STEERING) {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    assert.is(escapedLine(`a${character}b`), `a\\u${code}b`);
  }
  const shown = table(
    ['NAME', 'PLAN'],
    [
      ['a\n\u001b[2J', 'pro'],
      ['Zoë 👩‍💻 שלום', undefined],
    ],
  );
  assert.is(shown.split('\n').length, 3);
  assert.match(shown, /^a\\u000a\\u001b\[2J {2}pro$/m);
  assert.match(shown, /^Zoë 👩‍💻 שלום +-$/m);
});

text('is escaped without a change of line breaks or JSON values', () => {
  assert.is(escapedText('one\ntwo\r'), 'one\ntwo\\u000d');
  const data = { name: STEERING, list: ['\u202ex'] };
  const json = escapedJson(data);
  assert.not.match(json.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Cs}]/u);
  assert.equal(JSON.parse(json), data);
});

text('is escaped in errors, which stay on one line', async () => {
  const cluster = {
    accounts: {
      find: async () => {
        throw new UsageError('no \u001b]0;title\u0007 here\nand there');
      },
    },
  } as unknown as Cluster['ports'];
  const { err } = await ctl(['users', 'list', 'Acc0unt00001'], { cluster });
  assert.is(err, 'ctl: no \\u001b]0;title\\u0007 here and there');
  assert.match(await ctlOn({ ports: cluster } as Cluster).refusal('a\u001bb'), /a\\u001bb/);
});

text.run();
