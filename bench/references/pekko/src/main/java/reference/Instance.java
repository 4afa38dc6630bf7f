package reference;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.pekko.Done;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityTypeKey;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.javadsl.CommandHandlerWithReply;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehaviorWithEnforcedReplies;
import org.apache.pekko.persistence.typed.javadsl.ReplyEffect;
import org.apache.pekko.persistence.typed.javadsl.RetentionCriteria;

/**
 * An event-sourced instance: one event per observation. The reply follows the journal's
 * confirmation. An event with an idempotency key also has the answer, so that key, answer and
 * observation are one write. The state keeps the sequence number of each key for 24 h. A repeated
 * call reads the answer from the journal.
 */
final class Instance
    extends EventSourcedBehaviorWithEnforcedReplies<
        Instance.Command, Instance.Event, Instance.State> {
  static final EntityTypeKey<Command> KEY = EntityTypeKey.create(Command.class, "instance");

  private static final long MINIMUM_INTERVAL_MS = 1_000;
  private static final long ANSWER_AGE_MS = 24 * 3_600 * 1_000L;

  /** Number of events between two removals of expired keys. */
  private static final int EXPIRE_EVENTS = 100;

  private final String id;
  private final int snapshotEvery;

  private Instance(String id, int snapshotEvery) {
    super(PersistenceId.of(KEY.name(), id));
    this.id = id;
    this.snapshotEvery = snapshotEvery;
  }

  static Behavior<Command> create(String id, int snapshotEvery) {
    return new Instance(id, snapshotEvery);
  }

  /** Marker of stored classes, for the serialization binding. */
  interface Stored {}

  sealed interface Command permits Create, Observe {}

  record Create(String account, double[] strengths, ActorRef<Done> replyTo) implements Command {}

  /** `key` is null for a call without idempotency key. */
  record Observe(
      String account,
      int mode,
      double signal,
      double confidence,
      String context,
      long atMs,
      String key,
      long fingerprint,
      ActorRef<Reply> replyTo)
      implements Command {}

  sealed interface Reply permits Answer, Replay, Refused {}

  record Answer(String body, int version) implements Reply {}

  /** The key's answer is in the event with this sequence number. */
  record Replay(long sequence) implements Reply {}

  record Refused(int status, String error) implements Reply {}

  sealed interface Event extends Stored permits Created, Observed {}

  record Created(
      @JsonProperty("account") String account, @JsonProperty("strengths") double[] strengths)
      implements Event {}

  /** `key` and `answer` are null without idempotency key. */
  record Observed(
      @JsonProperty("version") int version,
      @JsonProperty("mode") int mode,
      @JsonProperty("signal") double signal,
      @JsonProperty("confidence") double confidence,
      @JsonProperty("context") String context,
      @JsonProperty("at") long atMs,
      @JsonProperty("key") String key,
      @JsonProperty("fingerprint") long fingerprint,
      @JsonProperty("answer") String answer,
      @JsonProperty("stored") long storedMs)
      implements Event {}

  /** An idempotency key of the last 24 h. */
  record Kept(
      @JsonProperty("key") String key,
      @JsonProperty("sequence") long sequence,
      @JsonProperty("fingerprint") long fingerprint,
      @JsonProperty("stored") long storedMs) {}

  /** Copy of the state for a snapshot, because the state changes while Pekko stores a snapshot. */
  record Snapshot(
      @JsonProperty("account") String account,
      @JsonProperty("version") int version,
      @JsonProperty("at") long atMs,
      @JsonProperty("model") Model model,
      @JsonProperty("kept") List<Kept> kept)
      implements Stored {}

  /** State of an instance. `account` is null before creation. */
  static final class State {
    String account;
    int version;
    long atMs;
    Model model;
    final Map<String, Kept> kept = new LinkedHashMap<>();

    Kept keptOf(String key, long nowMs) {
      if (key == null) return null;
      Kept found = kept.get(key);
      return found == null || found.storedMs() <= nowMs - ANSWER_AGE_MS ? null : found;
    }

    void expire(long nowMs) {
      kept.values().removeIf(one -> one.storedMs() <= nowMs - ANSWER_AGE_MS);
    }
  }

  @Override
  public State emptyState() {
    return new State();
  }

  @Override
  public CommandHandlerWithReply<Command, Event, State> commandHandler() {
    return (state, command) ->
        command instanceof Observe observe
            ? observed(state, observe)
            : created(state, (Create) command);
  }

  private ReplyEffect<Event, State> created(State state, Create create) {
    if (state.account != null) return Effect().reply(create.replyTo(), Done.getInstance());
    return Effect()
        .persist(new Created(create.account(), create.strengths()))
        .thenReply(create.replyTo(), next -> Done.getInstance());
  }

  private ReplyEffect<Event, State> observed(State state, Observe call) {
    if (!call.account().equals(state.account)) return refused(call, 404, "not_found");
    long nowMs = System.currentTimeMillis();
    Kept kept = state.keptOf(call.key(), nowMs);
    if (kept != null) {
      return kept.fingerprint() == call.fingerprint()
          ? Effect().reply(call.replyTo(), new Replay(kept.sequence()))
          : refused(call, 400, "idempotency_key_reused");
    }
    if (call.atMs() < state.atMs + MINIMUM_INTERVAL_MS) return refused(call, 409, "too_early");
    int version = state.version + 1;
    Model next = state.model.after(call.mode(), call.signal(), call.confidence());
    String body = next.answer(id, version - 1);
    Observed event =
        new Observed(
            version,
            call.mode(),
            call.signal(),
            call.confidence(),
            call.context(),
            call.atMs(),
            call.key(),
            call.fingerprint(),
            call.key() == null ? null : body,
            nowMs);
    return Effect().persist(event).thenReply(call.replyTo(), after -> new Answer(body, version));
  }

  private ReplyEffect<Event, State> refused(Observe call, int status, String error) {
    return Effect().reply(call.replyTo(), new Refused(status, error));
  }

  @Override
  public EventHandler<State, Event> eventHandler() {
    return (state, event) -> {
      if (event instanceof Created created) {
        state.account = created.account();
        state.version = 1;
        state.model = Model.of(created.strengths());
        return state;
      }
      Observed observed = (Observed) event;
      state.version = observed.version();
      state.atMs = observed.atMs();
      state.model =
          state.model.after(observed.mode(), observed.signal(), observed.confidence());
      if (observed.key() != null) {
        // `Created` is the first event and the version 1: versions are sequence numbers.
        state.kept.put(
            observed.key(),
            new Kept(
                observed.key(),
                observed.version(),
                observed.fingerprint(),
                observed.storedMs()));
      }
      if (observed.version() % EXPIRE_EVENTS == 0) state.expire(observed.storedMs());
      return state;
    };
  }

  @Override
  public RetentionCriteria retentionCriteria() {
    return RetentionCriteria.snapshotEvery(snapshotEvery, 2);
  }

  @Override
  public org.apache.pekko.persistence.typed.SnapshotAdapter<State> snapshotAdapter() {
    return new org.apache.pekko.persistence.typed.SnapshotAdapter<>() {
      @Override
      public Object toJournal(State state) {
        List<Kept> kept = new ArrayList<>(state.kept.values());
        return new Snapshot(state.account, state.version, state.atMs, state.model, kept);
      }

      @Override
      public State fromJournal(Object stored) {
        Snapshot snapshot = (Snapshot) stored;
        State state = new State();
        state.account = snapshot.account();
        state.version = snapshot.version();
        state.atMs = snapshot.atMs();
        state.model = snapshot.model();
        for (Kept one : snapshot.kept()) state.kept.put(one.key(), one);
        return state;
      }
    };
  }
}
