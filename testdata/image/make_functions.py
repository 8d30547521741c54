"""Writes functions.npz: results of tf.image by TensorFlow 2.21, for caudal/ops/image_functions_test.cc."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(5)
one = rng.uniform(0, 1, (6, 7, 3)).astype(np.float32)
two = rng.uniform(0, 1, (2, 5, 8, 3)).astype(np.float32)
byte = rng.integers(0, 256, (6, 7, 3)).astype(np.uint8)
out = {"one": one, "two": two, "byte": byte}
image = tf.image


def add(name, value):
    out[name] = np.asarray(value)


for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
    for antialias in (False, True):
        add(f"resize/{method}/{int(antialias)}", image.resize(one, (4, 9), method=method, antialias=antialias))
add("resize/ratio", image.resize(two, (9, 9), preserve_aspect_ratio=True))
add("resize_with_pad", image.resize_with_pad(one, 9, 5))
add("resize_with_pad/two", image.resize_with_pad(two, 4, 12))
add("resize_with_crop_or_pad", image.resize_with_crop_or_pad(one, 9, 4))
add("resize_with_crop_or_pad/two", image.resize_with_crop_or_pad(two, 2, 11))
add("central_crop", image.central_crop(one, 0.4))
add("crop_to_bounding_box", image.crop_to_bounding_box(two, 1, 2, 3, 4))
add("pad_to_bounding_box", image.pad_to_bounding_box(one, 1, 2, 9, 10))
add("flip_left_right", image.flip_left_right(one))
add("flip_up_down", image.flip_up_down(two))
add("transpose", image.transpose(one))
for k in range(-1, 4):
    add(f"rot90/{k}", image.rot90(one, k))
    add(f"rot90/two/{k}", image.rot90(two, k))
for picture, name in ((one, "one"), (byte, "byte")):
    add(f"adjust_brightness/{name}", image.adjust_brightness(picture, 0.3))
    add(f"adjust_contrast/{name}", image.adjust_contrast(picture, 1.7))
    add(f"adjust_gamma/{name}", image.adjust_gamma(picture, 0.8, 0.9))
    add(f"adjust_hue/{name}", image.adjust_hue(picture, 0.3))
    add(f"adjust_saturation/{name}", image.adjust_saturation(picture, 0.4))
    add(f"adjust_jpeg_quality/{name}", image.adjust_jpeg_quality(picture, 60))
    add(f"per_image_standardization/{name}", image.per_image_standardization(picture))
    add(f"rgb_to_grayscale/{name}", image.rgb_to_grayscale(picture))
add("grayscale_to_rgb", image.grayscale_to_rgb(tf.constant(one)[..., :1]))
for name in ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb"):
    add(name, getattr(image, name)(tf.constant(one)))
scaled = (one * 2.4 - 0.7).astype(np.float32)
out["scaled"] = scaled
for saturate in (0, 1):
    add(f"convert/uint8/{saturate}", image.convert_image_dtype(scaled if saturate else one, tf.uint8, saturate=bool(saturate)))
    add(f"convert/int16/{saturate}", image.convert_image_dtype(scaled if saturate else one, tf.int16, saturate=bool(saturate)))
    add(f"convert/byte/uint16/{saturate}", image.convert_image_dtype(byte, tf.uint16, saturate=bool(saturate)))
    add(f"convert/byte/int8/{saturate}", image.convert_image_dtype(byte, tf.int8, saturate=bool(saturate)))
    add(f"convert/byte/int32/{saturate}", image.convert_image_dtype(byte, tf.int32, saturate=bool(saturate)))
add("convert/int32/1", image.convert_image_dtype(scaled, tf.int32, saturate=True))
add("convert/byte/double", image.convert_image_dtype(byte, tf.float64))
x = rng.uniform(0, 1, (2, 24, 25, 2)).astype(np.float32)
y = np.clip(x + rng.normal(0, 0.1, x.shape), 0, 1).astype(np.float32)
out["x"], out["y"] = x, y
bx, by = (x * 255).astype(np.uint8), (y * 255).astype(np.uint8)
out["bx"], out["by"] = bx, by
add("psnr", image.psnr(x, y, 1.0))
add("psnr/byte", image.psnr(bx, by, 255))
add("ssim", image.ssim(x, y, 1.0))
add("ssim/byte", image.ssim(bx[0], by[0], 255, filter_size=7, filter_sigma=1.0, k1=0.02, k2=0.04))
add("ssim_multiscale", image.ssim_multiscale(x, y, 1.0, power_factors=(0.3, 0.4, 0.3), filter_size=5))
add("total_variation", image.total_variation(tf.constant(x)))
add("total_variation/one", image.total_variation(tf.constant(one)))
dy, dx = image.image_gradients(tf.constant(x))
add("image_gradients/dy", dy)
add("image_gradients/dx", dx)
add("sobel_edges", image.sobel_edges(tf.constant(x)))
seed = (7, 11)
add("stateless_random_flip_left_right", image.stateless_random_flip_left_right(two, seed))
add("stateless_random_flip_up_down", image.stateless_random_flip_up_down(two, seed))
add("stateless_random_crop", image.stateless_random_crop(one, (3, 4, 3), seed))
add("stateless_random_brightness", image.stateless_random_brightness(one, 0.3, seed))
add("stateless_random_contrast", image.stateless_random_contrast(byte, 0.3, 1.8, seed))
add("stateless_random_hue", image.stateless_random_hue(one, 0.2, seed))
add("stateless_random_saturation", image.stateless_random_saturation(byte, 0.3, 1.8, seed))
add("stateless_random_jpeg_quality", image.stateless_random_jpeg_quality(one, 20, 70, seed))
# Seeded: two runs in one session each.
tf1 = tf.compat.v1
image1 = tf1.image
for name, make in {
    "random_flip_left_right": lambda: image1.random_flip_left_right(one, seed=11),
    "random_flip_up_down": lambda: image1.random_flip_up_down(one, seed=14),
    "random_flip_left_right/two": lambda: image1.random_flip_left_right(two, seed=12),
    "random_crop": lambda: tf1.random_crop(one, (3, 4, 3), seed=13),
    "random_brightness": lambda: image1.random_brightness(one, 0.3, seed=15),
    "random_contrast": lambda: image1.random_contrast(byte, 0.3, 1.8, seed=16),
    "random_hue": lambda: image1.random_hue(one, 0.2, seed=17),
    "random_saturation": lambda: image1.random_saturation(byte, 0.3, 1.8, seed=18),
    "random_jpeg_quality": lambda: image1.random_jpeg_quality(one, 20, 70, seed=19),
}.items():
    with tf.Graph().as_default():
        value = make()
        with tf1.Session() as session:
            for run in range(2):
                add(f"seeded/{name}/{run}", session.run(value))
# Rotation and translation are no functions of tf.image: the op with the transform of keras.layers.RandomRotation.
angle = 0.4
c, s, h, w = np.cos(angle), np.sin(angle), 5.0, 6.0
t = [c, -s, (w - (c * w - s * h)) / 2, s, c, (h - (s * w + c * h)) / 2, 0, 0]
add("rotate", tf.raw_ops.ImageProjectiveTransformV3(images=one[None], transforms=np.array([t], np.float32),
                                                    output_shape=[6, 7], fill_value=0.0, interpolation="BILINEAR")[0])
add("translate", tf.raw_ops.ImageProjectiveTransformV3(images=one[None], transforms=np.array([[1, 0, -2, 0, 1, 1, 0, 0]], np.float32),
                                                       output_shape=[6, 7], fill_value=0.5, interpolation="NEAREST")[0])
np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions.npz"), **out)
