package reference;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.pekko.Done;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpEntity;
import org.apache.pekko.http.javadsl.model.HttpHeader;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.headers.RawHeader;
import org.apache.pekko.persistence.cassandra.query.javadsl.CassandraReadJournal;
import org.apache.pekko.persistence.query.PersistenceQuery;
import org.apache.pekko.stream.connectors.cassandra.javadsl.CassandraSession;
import org.apache.pekko.stream.connectors.cassandra.javadsl.CassandraSessionRegistry;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.util.ByteString;

/**
 * Reference (pekko): HTTP server, sharded event-sourced instances and a Cassandra journal in one
 * process. Checks the API key by its digest. Metrics and listing have the service's names, so that
 * the same checks apply.
 */
public final class Main {
  private static final String PATH = "/v1/instances";
  private static final String PROCESS = "/process";
  private static final String ACCOUNT = "bench0000000";
  private static final int CREATED_AT_ONCE = 64;
  private static final List<String> MODES =
      List.of(
          "PERCEPTION",
          "EXPLORATION",
          "ORDER",
          "ASSERTION",
          "CONNECTION",
          "IDENTITY",
          "STRESS_RESPONSE");

  /** Runs a callback on the thread that completes the stage, without a thread switch. */
  private static final Executor SAME_THREAD = Runnable::run;

  private static final ObjectReader BODIES =
      new ObjectMapper()
          .readerFor(Body.class)
          .with(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

  record Body(
      @JsonProperty("mode_target") String mode,
      @JsonProperty("signal_strength") Double signal,
      @JsonProperty("confidence") Double confidence,
      @JsonProperty("context") JsonNode context,
      @JsonProperty("timestamp") String timestamp) {}

  private final LongAdder advanced = new LongAdder();
  private final LongAdder throttled = new LongAdder();
  private final ActorSystem<Void> system;
  private final ClusterSharding sharding;
  private final CassandraReadJournal journal;
  private final CassandraSession session;
  private final Duration timeout;
  private final String keyspace;
  private final int instances;
  private final double[][] profiles;
  private final Map<String, String> accounts;

  private Main(Config config) throws NoSuchAlgorithmException {
    system = ActorSystem.create(Behaviors.empty(), "reference", config);
    Config own = config.getConfig("reference");
    timeout = own.getDuration("ask-timeout");
    keyspace = own.getString("keyspace");
    instances = own.getInt("instances");
    profiles =
        Arrays.stream(own.getString("profiles").split(";"))
            .map(one -> Arrays.stream(one.split(",")).mapToDouble(Double::parseDouble).toArray())
            .toArray(double[][]::new);
    accounts = Map.of(digestOf(own.getString("api-key")), ACCOUNT);
    sharding = ClusterSharding.get(system);
    int snapshotEvery = own.getInt("snapshot-every");
    sharding.init(
        Entity.of(
            Instance.KEY, context -> Instance.create(context.getEntityId(), snapshotEvery)));
    journal =
        PersistenceQuery.get(system)
            .getReadJournalFor(CassandraReadJournal.class, CassandraReadJournal.Identifier());
    session = CassandraSessionRegistry.get(system).sessionFor("pekko.persistence.cassandra");
  }

  public static void main(String[] arguments) throws Exception {
    Config config = ConfigFactory.load();
    Main main = new Main(config);
    main.createAll();
    Http.get(main.system)
        .newServerAt("127.0.0.1", config.getInt("reference.port"))
        .bind(main::handle)
        .toCompletableFuture()
        .get();
  }

  private static String idOf(int instance) {
    return String.format("inst_%016x", instance);
  }

  private void createAll() throws InterruptedException, ExecutionException {
    Source.range(0, instances - 1)
        .mapAsync(
            CREATED_AT_ONCE,
            i ->
                sharding
                    .entityRefFor(Instance.KEY, idOf(i))
                    .<Done>ask(
                        replyTo ->
                            new Instance.Create(ACCOUNT, profiles[i % profiles.length], replyTo),
                        timeout))
        .runWith(Sink.ignore(), system)
        .toCompletableFuture()
        .get();
  }

  private CompletionStage<HttpResponse> handle(HttpRequest request) {
    String path = request.getUri().path();
    if (path.equals("/metrics")) {
      return done(
          200,
          "identity_cycles_total " + advanced + "\nidentity_throttled_total " + throttled + "\n");
    }
    if (path.equals(PATH)) return list(request);
    if (!path.startsWith(PATH + "/") || !path.endsWith(PROCESS)) return failed(404, "not_found");
    String id = path.substring(PATH.length() + 1, path.length() - PROCESS.length());
    String account = null;
    String key = null;
    for (HttpHeader header : request.getHeaders()) {
      switch (header.lowercaseName()) {
        case "authorization" -> account = accountOf(header.value());
        case "idempotency-key" -> key = header.value();
        default -> {}
      }
    }
    if (account == null) return failed(401, "unauthorized");
    if (request.entity() instanceof HttpEntity.Strict strict) {
      return observe(id, account, key, strict.getData());
    }
    String from = account;
    String given = key;
    return request
        .entity()
        .toStrict(timeout.toMillis(), system)
        .thenCompose(strict -> observe(id, from, given, strict.getData()));
  }

  private CompletionStage<HttpResponse> observe(
      String id, String account, String key, ByteString data) {
    Body body;
    int mode;
    long atMs;
    try {
      body = BODIES.readValue(data.toArrayUnsafe());
      mode = MODES.indexOf(body.mode());
      atMs =
          body.timestamp() == null
              ? System.currentTimeMillis()
              : Instant.parse(body.timestamp()).toEpochMilli();
    } catch (Exception invalid) {
      return failed(400, "invalid_request");
    }
    double confidence = body.confidence() == null ? 1 : body.confidence();
    if (mode < 0 || !isShare(body.signal()) || !isShare(confidence)) {
      return failed(400, "invalid_request");
    }
    String context = body.context() == null ? "{}" : body.context().toString();
    long fingerprint = key == null ? 0 : fingerprintOf(data);
    return sharding
        .entityRefFor(Instance.KEY, id)
        .<Instance.Reply>ask(
            replyTo ->
                new Instance.Observe(
                    account,
                    mode,
                    body.signal(),
                    confidence,
                    context,
                    atMs,
                    key,
                    fingerprint,
                    replyTo),
            timeout)
        .handleAsync((reply, failure) -> responseOf(id, reply, failure), SAME_THREAD)
        .thenComposeAsync(response -> response, SAME_THREAD);
  }

  private CompletionStage<HttpResponse> responseOf(
      String id, Instance.Reply reply, Throwable failure) {
    if (failure != null) return failed(503, "service_unavailable");
    if (reply instanceof Instance.Answer answer) {
      advanced.increment();
      return CompletableFuture.completedFuture(answered(answer.body(), answer.version()));
    }
    if (reply instanceof Instance.Replay replay) return repeated(id, replay.sequence());
    Instance.Refused refused = (Instance.Refused) reply;
    if (refused.status() == 409) throttled.increment();
    return failed(refused.status(), refused.error());
  }

  private CompletionStage<HttpResponse> repeated(String id, long sequence) {
    String persistenceId = Instance.KEY.name() + "|" + id;
    return journal
        .currentEventsByPersistenceId(persistenceId, sequence, sequence)
        .map(envelope -> (Instance.Observed) envelope.event())
        .runWith(Sink.head(), system)
        .thenApply(
            event ->
                answered(event.answer(), event.version())
                    .addHeader(RawHeader.create("idempotent-replayed", "true")));
  }

  private static HttpResponse answered(String body, int version) {
    return HttpResponse.create()
        .addHeader(RawHeader.create("etag", "\"" + version + "\""))
        .withEntity(
            HttpEntities.create(
                ContentTypes.APPLICATION_JSON,
                ByteString.fromArrayUnsafe(body.getBytes(StandardCharsets.ISO_8859_1))));
  }

  /** A page of instances with their number of stored observations: events after `Created`. */
  private CompletionStage<HttpResponse> list(HttpRequest request) {
    var query = request.getUri().query();
    int offset = Integer.parseInt(query.get("offset").orElse("0"));
    int limit = Integer.parseInt(query.get("limit").orElse("100"));
    int end = Math.min(instances, offset + limit);
    List<CompletableFuture<String>> rows =
        IntStream.range(offset, Math.max(offset, end))
            .mapToObj(
                i ->
                    eventsOf(idOf(i), 0)
                        .thenApply(
                            count ->
                                "{\"id\":\"" + idOf(i) + "\",\"cycle_count\":" + (count - 1) + "}")
                        .toCompletableFuture())
            .toList();
    return CompletableFuture.allOf(rows.toArray(CompletableFuture[]::new))
        .thenApply(
            ignored ->
                response(
                    200,
                    rows.stream()
                        .map(CompletableFuture::join)
                        .collect(Collectors.joining(",", "{\"data\":[", "]}"))));
  }

  /** Number of stored events in the journal's partitions of an instance, from `partition`. */
  private CompletionStage<Long> eventsOf(String id, long partition) {
    String text =
        "SELECT count(*) FROM "
            + keyspace
            + ".messages WHERE persistence_id = ? AND partition_nr = ?";
    return session
        .selectOne(text, Instance.KEY.name() + "|" + id, partition)
        .thenCompose(
            row -> {
              long count = row.orElseThrow().getLong(0);
              if (count == 0) return CompletableFuture.completedFuture(0L);
              return eventsOf(id, partition + 1).thenApply(more -> count + more);
            });
  }

  private String accountOf(String authorization) {
    String bearer = "Bearer ";
    if (!authorization.startsWith(bearer)) return null;
    try {
      return accounts.get(digestOf(authorization.substring(bearer.length())));
    } catch (NoSuchAlgorithmException missing) {
      throw new CompletionException(missing);
    }
  }

  private static String digestOf(String key) throws NoSuchAlgorithmException {
    byte[] digest =
        MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
    return HexFormat.of().formatHex(digest);
  }

  /** The first eight bytes of the request's digest. */
  private static long fingerprintOf(ByteString data) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(data.toArrayUnsafe());
      return java.nio.ByteBuffer.wrap(digest).getLong();
    } catch (NoSuchAlgorithmException missing) {
      throw new CompletionException(missing);
    }
  }

  private static boolean isShare(Double value) {
    return value != null && value >= 0 && value <= 1;
  }

  private static CompletionStage<HttpResponse> failed(int status, String error) {
    return done(status, "{\"error\":\"" + error + "\"}");
  }

  private static CompletionStage<HttpResponse> done(int status, String text) {
    return CompletableFuture.completedFuture(response(status, text));
  }

  private static HttpResponse response(int status, String text) {
    return HttpResponse.create()
        .withStatus(status)
        .withEntity(HttpEntities.create(ContentTypes.APPLICATION_JSON, text));
  }
}
