import { feed, follow } from '#pages/cluster/feed';
import type { Refused } from '#pages/shell/api';
import { ClusterView } from '#view/cluster/view';
import { submitted, TextField } from '#view/parts/field';
import { RefusalNotice, Skeleton } from '#view/parts/notice';
import { SignInFrame } from '#view/sign-in/frame';

/** Cluster page. Shows the token form until a report has arrived, and then the cluster. */
export function ClusterApp() {
  const now = feed.value;
  switch (now.kind) {
    case 'locked':
      return <TokenPage refusal={now.refusal} />;
    case 'opening':
      return (
        <SignInFrame
          title="Cluster"
          lead="Waiting for heartbeats: each node sends a heartbeat every second."
        >
          <Skeleton what="the cluster" />
        </SignInFrame>
      );
    case 'open':
      return <ClusterView report={now.report} failing={now.failing} />;
  }
}

function TokenPage({ refusal }: { readonly refusal: Refused | undefined }) {
  return (
    <SignInFrame title="Cluster" lead="Ring, shards, nodes and journals of this cluster, live.">
      <form onSubmit={submitted(({ token = '' }) => void follow(token.trim()))}>
        <TextField
          name="token"
          label="Admin token"
          type="password"
          refusal={refusal}
          hint="This page keeps the token in memory only. After a reload, enter the token again."
          hasFocus
        />
        <RefusalNotice refusal={refusal} fields={['token']} />
        <button type="submit" class="is-main is-wide">
          Open
        </button>
      </form>
      <p class="hint">
        The token is in the file that <code>SERVICE_ADMIN_TOKEN_FILE</code> names. Without that
        variable, the token is in the folder <code>~/.local/state/identity-engine/admin</code> of
        the user who runs the service, in the file with the number of this port.
      </p>
    </SignInFrame>
  );
}
