import { useMemo } from 'preact/hooks';
import type { Contract, Instance } from '#clients/typescript/src/models';
import { ACTIONS } from '#identity/contract';
import { contractPrompt, WORDING } from '#identity/contract-prompt';
import { connectSamples } from '#pages/instance/connect-samples';
import type { InstanceView } from '#pages/instance/live';
import { CodePanel, serviceAddress } from '#view/instance/code-panel';
import { TableHead } from '#view/parts/table-head';
import { CopyButton } from '#view/parts/text';
import { Link } from '#view/shell/router';

/** Everything that connects an agent with the instance: code, prompt and tool map. */
export function ConnectTab({
  instance: { id },
  view: { now },
}: {
  readonly instance: Instance;
  readonly view: InstanceView;
}) {
  const address = serviceAddress();
  const samples = useMemo(() => connectSamples(address, id), [address, id]);
  return (
    <>
      <section class="card" aria-labelledby="connect">
        <h2 id="connect">Connect an agent</h2>
        <p>
          Before a turn, the agent reads its contract. After a turn, the agent reports what it did.
          The adapters of the frameworks do both. You need an <Link to="/keys">API key</Link> with
          scope <code>full</code>.
        </p>
        <CodePanel samples={samples} label="Code of the connection" />
      </section>
      {now === undefined ? (
        <p class="quiet">Waiting for the state …</p>
      ) : (
        <div class="cards is-wide">
          <PromptCard contract={now.contract} />
          <ToolMap contract={now.contract} />
        </div>
      )}
    </>
  );
}

function PromptCard({ contract }: { readonly contract: Contract }) {
  const prompt = contractPrompt(contract);
  return (
    <section class="card is-top" aria-labelledby="prompt">
      <div class="card-head">
        <h2 id="prompt">Prompt now</h2>
        <CopyButton key={prompt} value={prompt} what="the prompt" />
      </div>
      <p class="quiet">
        Put this text last into the instructions of the model. The text changes with the contract.
      </p>
      <pre>{prompt}</pre>
    </section>
  );
}

const STANDINGS = {
  forbidden: ['is-bad', 'refuse'],
  allowed: ['is-good', 'run'],
  open: ['is-quiet', 'run'],
} as const;

/** Actions of tools, and what a framework does with a tool of the action now. */
function ToolMap({ contract }: { readonly contract: Contract }) {
  return (
    <section class="card is-top" aria-labelledby="tools">
      <h2 id="tools">Tool map now</h2>
      <p class="quiet">
        Give each tool its actions. A tool is refused if the contract forbids one of its actions.
        Actions in neither list are open, and their tools run.
      </p>
      <table class="rows is-plain tool-map">
        <TableHead names={['Action', 'In the prompt', 'Contract', 'Tools']} />
        <tbody>
          {actionsIn(contract).map((action) => {
            const standing = standingOf(contract, action);
            const [style, tools] = STANDINGS[standing];
            return (
              <tr key={action}>
                <th scope="row">
                  <code>{action}</code>
                </th>
                <td data-label="In the prompt">{WORDING.actions[action] ?? '–'}</td>
                <td data-label="Contract">
                  <span class={`badge ${style}`}>{standing}</span>
                </td>
                <td data-label="Tools">{tools}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** Actions of the model, then actions of a later release. */
function actionsIn({ allowed_actions: allowed, forbidden_actions: forbidden }: Contract) {
  return [...new Set<string>([...ACTIONS, ...allowed, ...forbidden])];
}

function standingOf(contract: Contract, action: string): keyof typeof STANDINGS {
  if ((contract.forbidden_actions as readonly string[]).includes(action)) return 'forbidden';
  return (contract.allowed_actions as readonly string[]).includes(action) ? 'allowed' : 'open';
}
