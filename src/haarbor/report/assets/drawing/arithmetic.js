// A little arithmetic that several views need.
(() => {
  Haarbor.sum = (values) => values.reduce((total, value) => total + value, 0);

  Haarbor.mean = (values) => Haarbor.sum(values) / values.length;

  Haarbor.between = (value, low, high) => Math.max(low, Math.min(high, value));

  /** For an order of items the place of every item in it. */
  Haarbor.inverse = (order) => {
    const found = new Array(order.length);
    order.forEach((item, place) => {
      found[item] = place;
    });
    return found;
  };
})();
