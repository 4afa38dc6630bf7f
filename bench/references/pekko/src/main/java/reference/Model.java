package reference;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A stand-in for the service's model, which exists only in TypeScript: moving averages of seven
 * mode strengths. The answer has the fields of the service's answer, but less is computed.
 */
record Model(
    @JsonProperty("home") double[] home,
    @JsonProperty("strengths") double[] strengths,
    @JsonProperty("energy") double energy) {
  private static final String[] MODES = {
    "perception", "exploration", "order", "assertion", "connection", "identity", "stress_response"
  };
  private static final double RATE = 0.125;
  private static final double SPREAD = 0.17;
  private static final double ENERGY_START = 0.8;
  private static final double STRONG = 0.6;
  private static final double WEAK = 0.2;

  static Model of(double[] strengths) {
    return new Model(strengths, strengths.clone(), ENERGY_START);
  }

  Model after(int mode, double signal, double confidence) {
    double[] next = strengths.clone();
    double weight = RATE * confidence;
    for (int i = 0; i < next.length; i++) {
      double target = i == mode ? signal : home[i];
      next[i] += weight * (target - next[i]);
    }
    double level = energy + 0.02 * weight * (signal - energy);
    return new Model(home, next, Math.min(1, Math.max(0, level)));
  }

  /** The answer's JSON text, with numbers of six decimals. */
  String answer(String id, int cycle) {
    StringBuilder to = new StringBuilder(2_048);
    to.append("{\"data\":{\"snapshot\":{\"instance_id\":\"").append(id);
    to.append("\",\"cycle\":").append(cycle).append(",\"mode_strengths\":{");
    for (int i = 0; i < MODES.length; i++) {
      to.append(i == 0 ? "\"" : ",\"").append(MODES[i]).append("\":");
      number(to, strengths[i]);
    }
    to.append("},\"energy_level\":");
    number(to, energy);
    to.append(",\"stress_state\":\"LOW\",\"stability_index\":");
    number(to, 1 - distance());
    contract(to);
    drift(to);
    return to.append("}}").toString();
  }

  private double distance() {
    double sum = 0;
    for (int i = 0; i < strengths.length; i++) {
      double difference = strengths[i] - home[i];
      sum += difference * difference;
    }
    return Math.sqrt(sum);
  }

  private void contract(StringBuilder to) {
    to.append("},\"contract\":{\"dominant_modes\":");
    modesWithin(to, STRONG, 1);
    to.append(",\"suppressed_modes\":");
    modesWithin(to, 0, WEAK);
    to.append(",\"allowed_actions\":[\"clarify\",\"question\",\"elaborate\",\"stabilize\",");
    to.append("\"suggest\",\"execute\",\"challenge\"],");
    to.append("\"forbidden_actions\":[\"pivot\",\"withdraw\"],\"decision_style\":{");
    to.append("\"tempo\":\"measured\",\"risk\":\"cautious\",\"expressiveness\":\"medium\",");
    to.append("\"commitment_threshold\":\"high\"},\"energy_level\":");
    number(to, energy);
    to.append(",\"stress_state\":\"LOW\",\"recovery_profile\":{\"preferred_path\":\"none\",");
    to.append("\"support_required\":false,\"cooldown_required\":false}}");
  }

  private void modesWithin(StringBuilder to, double least, double most) {
    to.append('[');
    boolean isFirst = true;
    for (int i = 0; i < MODES.length; i++) {
      if (strengths[i] < least || strengths[i] > most) continue;
      to.append(isFirst ? "\"" : ",\"").append(MODES[i]).append('"');
      isFirst = false;
    }
    to.append(']');
  }

  private void drift(StringBuilder to) {
    double distance = distance() / SPREAD;
    to.append(",\"drift\":{\"level\":\"D0\",\"deviation\":{\"description\":");
    to.append("\"Behaviour stays within what is usual for this identity.\",");
    to.append("\"reason\":\"within_band\",\"distance\":");
    number(to, distance);
    to.append(",\"t2\":");
    number(to, distance * distance);
    to.append(",\"p_value\":");
    number(to, Math.exp(-distance * distance));
    to.append(",\"breach\":");
    number(to, distance / 8);
    to.append(",\"run\":0,\"sustained\":{\"statistic\":");
    number(to, distance / 4);
    to.append(",\"limit\":5.298317,\"mode\":null,\"direction\":null},\"modes\":[");
    for (int i = 0; i < MODES.length; i++) {
      double z = (strengths[i] - home[i]) / SPREAD;
      to.append(i == 0 ? "{" : ",{").append("\"mode\":\"").append(MODES[i]).append("\",\"z\":");
      number(to, z);
      to.append(",\"contribution\":");
      number(to, z * z);
      to.append('}');
    }
    to.append("],\"nearest_persona\":null,\"composite\":null}}");
  }

  private static void number(StringBuilder to, double value) {
    long millionths = Math.round(value * 1e6);
    if (millionths < 0) to.append('-');
    long size = Math.abs(millionths);
    to.append(size / 1_000_000);
    long rest = size % 1_000_000;
    if (rest == 0) return;
    to.append('.');
    for (long digit = 100_000; rest > 0; rest %= digit, digit /= 10) to.append(rest / digit);
  }
}
