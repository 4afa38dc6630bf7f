import { useState } from 'preact/hooks';
import type { Invitation, Member, People } from '#pages/answers';
import { api } from '#pages/api';
import { useLoaded } from '#pages/loaded';
import { refreshMe, session } from '#pages/session';
import { type Done, LeftDialog, type MemberDeed, MemberDialog } from '#view/member-dialogs';
import { Empty, WhenLoaded } from '#view/notice';
import { Page } from '#view/page';
import { ShownOnce } from '#view/shown-once';
import { TimeText } from '#view/time-text';

type Open = MemberDeed | Done;

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
        {(value) => <Lists people={value} onDeed={setOpen} />}
      </WhenLoaded>
      <Overlay
        open={open}
        onClose={close}
        onDone={(made) => {
          setOpen(made);
          if (open?.kind === 'role' && open.member.id === ownId()) void refreshMe();
          void people.reload();
        }}
      />
    </Page>
  );
}

function Overlay({
  open,
  onClose,
  onDone,
}: {
  readonly open: Open | undefined;
  readonly onClose: () => void;
  readonly onDone: (made: Done | undefined) => void;
}) {
  if (open === undefined) return null;
  switch (open.kind) {
    case 'left':
      return <LeftDialog email={open.email} left={open.left} onClose={onClose} />;
    case 'link':
      return (
        <ShownOnce
          title="Send this link"
          label="Invitation link"
          value={open.link}
          done="I have sent it"
          onClose={onClose}
        >
          <p>
            Send it to <strong>{open.email}</strong> yourself: the console sends no mail. It works
            once, for 7 days, and is not shown again.
          </p>
        </ShownOnce>
      );
    default:
      return <MemberDialog deed={open} onClose={onClose} onDone={onDone} />;
  }
}

type ListsProps = {
  readonly people: People;
  readonly onDeed: (deed: MemberDeed) => void;
};

function Lists({ people: { members, invitations }, onDeed }: ListsProps) {
  return (
    <>
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
            <MemberRow key={member.id} {...{ member, onDeed }} />
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
  onDeed,
}: {
  readonly member: Member;
  readonly onDeed: ListsProps['onDeed'];
}) {
  const { id, name, email, role, joined_at: joinedAt } = member;
  return (
    <tr>
      <th scope="row">
        <span class="row-name">
          {name}
          {id === ownId() ? <span class="quiet"> (you)</span> : null}
        </span>
        <span class="row-more">{email}</span>
      </th>
      <td data-label="Role">{role}</td>
      <td data-label="Member since">
        <TimeText at={joinedAt} />
      </td>
      <td class="row-actions">
        <button
          type="button"
          class="is-small"
          aria-label={`Change role of ${email}`}
          onClick={() => onDeed({ kind: 'role', member })}
        >
          Change role
        </button>
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
            <th scope="row">
              <span class="row-name">{invitation.email}</span>
              {invitation.created_by === undefined ? null : (
                <span class="row-more">by {invitation.created_by}</span>
              )}
            </th>
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
