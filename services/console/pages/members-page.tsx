import { useState } from 'preact/hooks';
import { type Invitation, type Member, type People, ROLES, type Role } from '#pages/answers';
import { api } from '#pages/api';
import { useAction, useLoaded } from '#pages/loaded';
import { refreshMe, session } from '#pages/session';
import { type MemberDeed, MemberDialog, ROLE_CHOICES } from '#view/member-dialogs';
import { Empty, RefusalNotice, WhenLoaded } from '#view/notice';
import { Page } from '#view/page';
import { ShownOnce } from '#view/shown-once';
import { TimeText } from '#view/time-text';

type Open = MemberDeed | { readonly kind: 'link'; readonly link: string; readonly email: string };

/** The members of the account and the invitations that are open. */
export function MembersPage() {
  const people = useLoaded(api.people);
  const [open, setOpen] = useState<Open | undefined>();
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Members"
      lead="Members sign in to this console; programs call the API with keys instead."
      actions={
        <button type="button" class="is-main" onClick={() => setOpen({ kind: 'invite' })}>
          Invite a member
        </button>
      }
    >
      <WhenLoaded loading={people} what="members">
        {(value) => <Lists people={value} reload={people.reload} onDeed={setOpen} />}
      </WhenLoaded>
      {open?.kind === 'link' ? (
        <ShownOnce
          title="Send this link"
          label="Invitation link"
          value={open.link}
          done="I have sent it"
          onClose={close}
        >
          <p>
            Send it to <strong>{open.email}</strong> yourself: the console sends no mail. It works
            once, for 7 days, and is not shown again.
          </p>
        </ShownOnce>
      ) : open === undefined ? null : (
        <MemberDialog
          deed={open}
          onClose={close}
          onDone={(made) => {
            setOpen(made === undefined ? undefined : { kind: 'link', ...made });
            void people.reload();
          }}
        />
      )}
    </Page>
  );
}

type ListsProps = {
  readonly people: People;
  readonly reload: () => Promise<void>;
  readonly onDeed: (deed: MemberDeed) => void;
};

function Lists({ people: { members, invitations }, reload, onDeed }: ListsProps) {
  const { run, isBusy, refusal } = useAction(async (id: string, role: Role) => {
    try {
      await api.changeRole(id, role);
      if (id === ownId()) await refreshMe();
    } finally {
      await reload();
    }
  });
  return (
    <>
      <RefusalNotice refusal={refusal} />
      <table class="rows">
        <caption class="unseen">Members</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Role</th>
            <th scope="col">Member since</th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow key={member.id} {...{ member, isBusy, onDeed }} onRole={run} />
          ))}
        </tbody>
      </table>
      <h2 class="part-title">Open invitations</h2>
      {invitations.length === 0 ? (
        <Empty title="No invitation is open" />
      ) : (
        <InvitationTable invitations={invitations} onDeed={onDeed} />
      )}
    </>
  );
}

function ownId(): string | undefined {
  const now = session.value;
  return now.kind === 'signed_in' ? now.me.user.id : undefined;
}

function MemberRow({
  member,
  isBusy,
  onRole,
  onDeed,
}: {
  readonly member: Member;
  readonly isBusy: boolean;
  readonly onRole: (id: string, role: Role) => void;
  readonly onDeed: ListsProps['onDeed'];
}) {
  const { id, name, email, role, joined_at: joinedAt } = member;
  const change = (event: Event & { readonly currentTarget: HTMLSelectElement }) => {
    const next = ROLES.find((each) => each === event.currentTarget.value);
    // What is chosen is shown when the console has made it so.
    event.currentTarget.value = role;
    if (next !== undefined) onRole(id, next);
  };
  return (
    <tr>
      <th scope="row">
        <span class="row-name">
          {name}
          {id === ownId() ? <span class="quiet"> (you)</span> : null}
        </span>
        <span class="row-more">{email}</span>
      </th>
      <td data-label="Role">
        <select aria-label={`Role of ${email}`} value={role} disabled={isBusy} onChange={change}>
          {ROLE_CHOICES.map(([value]) => (
            <option key={value} value={value}>
              {value}
            </option>
          ))}
        </select>
      </td>
      <td data-label="Member since">
        <TimeText at={joinedAt} />
      </td>
      <td class="row-actions">
        <button
          type="button"
          class="is-small is-danger-quiet"
          aria-label={`Remove ${email}`}
          onClick={() => onDeed({ kind: 'remove', member })}
        >
          Remove
        </button>
      </td>
    </tr>
  );
}

function InvitationTable({
  invitations,
  onDeed,
}: {
  readonly invitations: readonly Invitation[];
  readonly onDeed: ListsProps['onDeed'];
}) {
  return (
    <table class="rows">
      <caption class="unseen">Open invitations</caption>
      <thead>
        <tr>
          <th scope="col">Email</th>
          <th scope="col">Role</th>
          <th scope="col">Ends</th>
          <th scope="col">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {invitations.map((invitation) => (
          <tr key={invitation.id}>
            <th scope="row">{invitation.email}</th>
            <td data-label="Role">{invitation.role}</td>
            <td data-label="Ends">
              <TimeText at={invitation.expires_at} />
            </td>
            <td class="row-actions">
              <button
                type="button"
                class="is-small is-danger-quiet"
                aria-label={`Take back the invitation of ${invitation.email}`}
                onClick={() => onDeed({ kind: 'uninvite', invitation })}
              >
                Take back
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
