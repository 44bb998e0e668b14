// How points of the unit cube come onto a canvas: flat, or in space as seen from a turned and tilted side.
(() => {
  const { between } = Haarbor;
  const MARGIN = { left: 44, right: 14, top: 14, bottom: 36 };
  const SHARE_OF_PLANE = 0.92;
  const SHARE_OF_SPACE = 0.3;
  const EYE_DISTANCE = 4.2;

  /**
   * The view of a cloud of points: zoomed, and shifted in the plane or turned in space.
   *
   * A projected point is [x, y, depth, nearness]; both matter in space alone.
   */
  Haarbor.pointProjection = (height) => {
    let turn = 0;
    let tilt = 0;
    let zoom = 1;
    let shift = [0, 0];

    function flat(width) {
      const halfWide = (width - MARGIN.left - MARGIN.right) / 2;
      const halfTall = (height - MARGIN.top - MARGIN.bottom) / 2;
      const scale = SHARE_OF_PLANE * zoom;
      return ([x, y]) => [
        MARGIN.left + halfWide + (x - shift[0]) * halfWide * scale,
        MARGIN.top + halfTall - (y - shift[1]) * halfTall * scale,
        0,
        1,
      ];
    }

    function inSpace(width) {
      return ([x, y, z]) => {
        const across = x * Math.cos(turn) - y * Math.sin(turn);
        const along = x * Math.sin(turn) + y * Math.cos(turn);
        const up = z * Math.cos(tilt) - along * Math.sin(tilt);
        const depth = z * Math.sin(tilt) + along * Math.cos(tilt);
        const nearness = EYE_DISTANCE / (EYE_DISTANCE + depth);
        const scale = SHARE_OF_SPACE * Math.min(width, height) * zoom * nearness;
        return [width / 2 + across * scale, height / 2 - up * scale, depth, nearness];
      };
    }

    const projection = {
      MARGIN,
      isSpace: false,
      /** Function from points to places on a canvas of this width. */
      onto: (width) => (projection.isSpace ? inSpace(width) : flat(width)),
      /** Least and greatest coordinate of the plane that can be seen along axis k. */
      range(k) {
        const reach = 1 / (SHARE_OF_PLANE * zoom);
        return [shift[k] - reach, shift[k] + reach];
      },
      /** Turns the cloud, or shifts the plane, as if it were pulled by so many pixels. */
      pull(right, down, width) {
        if (projection.isSpace) {
          turn += right * 0.01;
          tilt = between(tilt + down * 0.01, -1.5, 1.5);
          return;
        }
        const reach = 2.2 / zoom;
        shift = [shift[0] - (right / width) * reach, shift[1] + (down / height) * reach];
      },
      zoomBy(factor) {
        zoom = between(zoom * factor, 0.5, 40);
        if (zoom <= 1) {
          shift = [0, 0];
        }
      },
      reset() {
        turn = 0.7;
        tilt = 0.35;
        zoom = 1;
        shift = [0, 0];
      },
    };
    projection.reset();
    return projection;
  };
})();
